#!/usr/bin/env node
import { launch } from "../launch.mjs";
await launch("myrctl", process.argv.slice(2));
