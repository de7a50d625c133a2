#!/usr/bin/env node
import { launch } from "../launch.mjs";
await launch("myriarchd", process.argv.slice(2));
