/**
 * Prints the one counted line over everything that added to a counts file: `print-counts.ts <file> <exit status so far>`.
 * A status other than 0 without a counted failure (a program that could not even count) is one failure.
 */
import { countLine, sumCounts } from "./counts.ts";

const [file, status] = process.argv.slice(2);
if (file === undefined) throw new Error("which counts file?");
const sum = sumCounts(file);
console.log(countLine(status !== "0" && sum.failed === 0 ? { ...sum, failed: 1 } : sum));
