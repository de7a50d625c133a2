import { defineConfig } from "vitest/config";

/** One project per row of the test table (README, "Tests"): named by what must be running. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "scripts/**/*.test.ts"],
          setupFiles: ["test/support/chance.ts"],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "workflow",
          include: ["test/workflow/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/support/services.ts"],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          // concurrent tests wait for Temporal to miss a dead worker's heartbeats, they do not compute
          maxConcurrency: 8,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "interop",
          include: ["test/interop/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 1_800_000, // the first run builds the peers
          fileParallelism: false,
        },
      },
      { test: { name: "browser", include: ["test/browser/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
});
