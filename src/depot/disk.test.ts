import { expect, test } from "vitest";
import { createDisk, DiskError } from "./disk.ts";
import { nodeFs, type DepotFile, type DepotFs } from "./files.ts";

test("a file that opens after its time is closed again, and only then the disk is taken back", async () => {
  const opening = Promise.withResolvers<DepotFile>();
  const closed = Promise.withResolvers<string>();
  const quiet = { append: async () => undefined, sync: async () => undefined, close: async () => undefined };
  const fs = {
    ...nodeFs,
    makeFolder: async () => undefined,
    syncFolder: async () => undefined,
    remove: async () => undefined,
    create: async () => quiet as unknown as DepotFile,
    open: () => opening.promise,
  } satisfies DepotFs;
  const failures: Error[] = [];
  const disk = createDisk("/disk", fs, 20, (error) => failures.push(error));
  await disk.tryAgain();
  await expect(disk.run("open", (it) => it.open("/disk/x"))).rejects.toThrow(DiskError);
  expect(failures).toHaveLength(1);
  await expect(disk.tryAgain()).rejects.toThrow("1 operations still hang");
  opening.resolve({ ...quiet, close: async () => closed.resolve("closed") } as unknown as DepotFile);
  expect(await closed.promise).toBe("closed");
  await disk.tryAgain();
  expect(disk.failure()).toBeUndefined();
});
