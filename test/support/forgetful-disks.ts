/**
 * Disks in memory that forget what was not fsynced: a power cut keeps of each name and each file either what lasts, what
 * was written since, or a part of it, as chance has it. They can be pulled, replaced, filled, made to fail, and looked at
 * as they are, behind the back of the node.
 */
import { basename, dirname, join } from "node:path";
import type { DepotFile, DepotFs } from "../../src/depot/files.ts";
import type { Choose } from "../../src/domain/depot/plan-replication.ts";

type Content = { now: Buffer; lasting: Buffer };
type Folder = { now: Map<string, Content>; lasting: Map<string, Content> };
type State = "well" | "pulled" | "failing" | "full";
type Disk = { path: string; state: State; folders: Map<string, Folder> };
/** Awaited before each operation takes effect: where others come in between. May throw. */
export type Turn = (operation: string, path: string) => Promise<unknown>;

export type ForgetfulDisks = {
  paths: string[];
  /** The file system of a process that starts now. */
  boot(): DepotFs;
  /** The process is gone: nothing that it had begun goes on. What was written stays. */
  kill(): void;
  /** Power goes: the process is gone, and so is what was not fsynced, or some of it. */
  cutPower(choose: Choose): void;
  state(disk: number): State;
  setState(disk: number, state: State): void;
  /** An empty one in its place. */
  replace(disk: number): void;
  /** Bytes of a file such as `artifacts/<sha256>`; `lasting`: what a power cut leaves for certain. */
  read(disk: number, name: string, which?: "now" | "lasting"): Buffer | undefined;
  /** Changes a stored file as a rotting disk would. */
  damage(disk: number, name: string, change: (bytes: Buffer) => Buffer): void;
  /** Names in a folder, as they are now. */
  names(disk: number, folder: string): string[];
};

export const osError = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

export function createForgetfulDisks(count: number, turn: Turn): ForgetfulDisks {
  const disks = Array.from({ length: count }, (_, i) => emptyDisk(`/disk-${i}`));
  let boot = 0;
  const at = (i: number): Disk => disks[i] as Disk;
  const diskOf = (path: string): Disk => {
    const disk = disks.find((it) => path === it.path || path.startsWith(`${it.path}/`));
    if (disk === undefined) throw osError("ENOENT");
    return disk;
  };
  const file = (i: number, name: string): { folder: Folder | undefined; base: string } => {
    const path = join(at(i).path, name);
    return { folder: at(i).folders.get(dirname(path)), base: basename(path) };
  };
  return {
    paths: disks.map((disk) => disk.path),
    boot: () => {
      const mine = ++boot;
      return fsOf(async (operation, path) => {
        await turn(operation, path);
        const disk = diskOf(path);
        if (mine !== boot || disk.state === "pulled" || disk.state === "failing") throw osError("EIO");
        if (disk.state === "full" && (operation === "create" || operation === "append")) throw osError("ENOSPC");
        return disk;
      });
    },
    kill: () => void boot++,
    cutPower: (choose) => {
      boot++;
      for (const disk of disks) for (const folder of disk.folders.values()) forget(folder, choose);
    },
    state: (i) => at(i).state,
    setState: (i, state) => void (at(i).state = state),
    replace: (i) => void (disks[i] = emptyDisk(at(i).path)),
    read: (i, name, which = "now") => {
      const { folder, base } = file(i, name);
      return folder?.[which].get(base)?.[which];
    },
    damage: (i, name, change) => {
      const { folder, base } = file(i, name);
      const old = folder?.now.get(base);
      if (folder === undefined || old === undefined) return;
      // a content of its own: who holds the file open reads the damage too, who replaces it does not touch it
      old.now = change(old.now);
      old.lasting = old.now;
    },
    names: (i, name) => [
      ...(at(i)
        .folders.get(join(at(i).path, name))
        ?.now.keys() ?? []),
    ],
  };
}

const emptyDisk = (path: string): Disk => ({ path, state: "well", folders: new Map([[path, emptyFolder()]]) });
const emptyFolder = (): Folder => ({ now: new Map(), lasting: new Map() });

function forget(folder: Folder, choose: Choose): void {
  for (const name of new Set([...folder.now.keys(), ...folder.lasting.keys()])) {
    const kept = choose(2) === 0 ? folder.lasting.get(name) : folder.now.get(name);
    if (kept === undefined) folder.now.delete(name);
    else folder.now.set(name, kept);
  }
  folder.lasting = new Map(folder.now);
  for (const content of folder.now.values()) {
    if (content.now === content.lasting) continue;
    const survivors = [content.lasting, content.now, content.now.subarray(0, choose(content.now.length + 1))];
    content.now = survivors[choose(survivors.length)] as Buffer;
    content.lasting = content.now;
  }
}

type Enter = (operation: string, path: string) => Promise<Disk>;

function fsOf(enter: Enter): DepotFs {
  const folderOf = (disk: Disk, path: string): Folder => {
    const folder = disk.folders.get(path);
    if (folder === undefined) throw osError("ENOENT");
    return folder;
  };
  const open = async (operation: string, path: string): Promise<{ names: Folder["now"]; name: string }> => ({
    names: folderOf(await enter(operation, path), dirname(path)).now,
    name: basename(path),
  });
  return {
    makeFolder: async (path) => {
      const { folders } = await enter("makeFolder", path);
      if (!folders.has(path)) folders.set(path, emptyFolder());
    },
    list: async (path) => [...folderOf(await enter("list", path), path).now.keys()],
    sizeOf: async (path) => {
      const { names, name } = await open("sizeOf", path);
      return names.get(name)?.now.length;
    },
    create: async (path) => {
      const { names, name } = await open("create", path);
      if (names.has(name)) throw osError("EEXIST");
      const content = { now: Buffer.alloc(0), lasting: Buffer.alloc(0) };
      names.set(name, content);
      return fileOf(enter, path, content);
    },
    open: async (path) => {
      const { names, name } = await open("open", path);
      const content = names.get(name);
      if (content === undefined) throw osError("ENOENT");
      return fileOf(enter, path, content);
    },
    readWhole: async (path) => {
      const { names, name } = await open("readWhole", path);
      return names.get(name)?.now;
    },
    rename: async (from, to) => {
      const disk = await enter("rename", from);
      const names = folderOf(disk, dirname(from)).now;
      const content = names.get(basename(from));
      if (content === undefined) throw osError("ENOENT");
      names.delete(basename(from));
      folderOf(disk, dirname(to)).now.set(basename(to), content);
    },
    remove: async (path) => {
      const { names, name } = await open("remove", path);
      names.delete(name);
    },
    syncFolder: async (path) => {
      const folder = folderOf(await enter("syncFolder", path), path);
      folder.lasting = new Map(folder.now);
    },
    freeBytes: async (path) => ((await enter("freeBytes", path)).state === "full" ? 0 : 1_000_000_000),
  };
}

const fileOf = (enter: Enter, path: string, content: Content): DepotFile => ({
  append: async (chunk) => {
    await enter("append", path);
    content.now = Buffer.concat([content.now, chunk]);
  },
  read: async (into, position) => {
    await enter("read", path);
    return content.now.copy(into, 0, position, Math.min(content.now.length, position + into.length));
  },
  size: async () => {
    await enter("size", path);
    return content.now.length;
  },
  sync: async () => {
    await enter("sync", path);
    content.lasting = content.now;
  },
  close: async () => undefined,
});
