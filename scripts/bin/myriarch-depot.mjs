#!/usr/bin/env node
import { launch } from "../launch.mjs";
await launch("myriarch-depot", process.argv.slice(2));
