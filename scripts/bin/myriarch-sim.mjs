#!/usr/bin/env node
import { launch } from "../launch.mjs";
await launch("myriarch-sim", process.argv.slice(2));
