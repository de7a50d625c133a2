import { open } from "node:fs/promises";

/** Changes one bit, as a disk does; again, and it is right again. */
export async function flipByte(path: string, at: number): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte.writeUInt8(byte.readUInt8(0) ^ 1, 0);
  await file.write(byte, 0, 1, at);
  await file.close();
}
