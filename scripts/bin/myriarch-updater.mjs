#!/usr/bin/env node
import { launch } from "../launch.mjs";
await launch("myriarch-updater", process.argv.slice(2));
