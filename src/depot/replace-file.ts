/** Replaces a small JSON file of a disk as a whole: temporary name, fsync, rename, fsync of the folder. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "./disk.ts";

/** Afterwards the file lasts; killed in the middle, the disk has the old one. */
export async function replaceFile(disk: Disk, name: string, content: object): Promise<void> {
  const temp = join(disk.tmp, `${name}.${randomUUID()}`);
  await disk.run(`write ${name}`, async (fs) => {
    const file = await fs.create(temp);
    try {
      try {
        await file.append(Buffer.from(`${JSON.stringify(content)}\n`));
        await file.sync();
      } finally {
        await file.close();
      }
      await fs.rename(temp, join(disk.path, name));
    } catch (error) {
      await fs.remove(temp).catch(() => undefined); // no room; a disk that fails is cleaned when it is back
      throw error;
    }
    await fs.syncFolder(disk.path);
  });
}
