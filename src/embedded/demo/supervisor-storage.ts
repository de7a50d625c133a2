/**
 * The supervisor's storage folder, with the real one's habits: `persistent_state.yaml` is written in place, so readers
 * can meet an empty or half file; a remote configuration is saved before anybody has looked at it.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import protobuf from "protobufjs/minimal.js";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { opamp as pb } from "../../protocol/generated/opamp.js";
import type { AgentRemoteConfig, RemoteConfigStatus } from "../../protocol/messages.ts";
import { readUid, uuidV7 } from "../../protocol/uid.ts";
import { decodeRemoteConfig } from "../../protocol/remote-config.ts";
import { fromConfigMap } from "../../protocol/wire.ts";

const stateSchema = z.object({
  instance_id: z.string().optional(),
  last_remote_config_status: z
    .object({ status: z.int(), last_remote_config_hash: z.string(), error_message: z.string() })
    .nullish(),
});

export type SupervisorState = { instanceId: string; remoteConfigStatus: RemoteConfigStatus | undefined };

export type SupervisorStorage = {
  state: SupervisorState;
  /** Absolute paths of what the folder holds for the collector. */
  effectiveFile: string;
  logFile: string;
  saveState(): Promise<void>;
  /** The saved remote configuration; undefined when none ever arrived. Throws `Malformed` when the bytes are no message. */
  loadRemoteConfig(): Promise<AgentRemoteConfig | undefined>;
  saveRemoteConfig(config: AgentRemoteConfig): Promise<void>;
  writeEffective(text: string): Promise<void>;
};

/** Opens the folder (0700) and its state, with a new instance id when there is none. */
export async function openStorage(folder: string): Promise<SupervisorStorage> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stateFile = join(folder, "persistent_state.yaml");
  const remoteFile = join(folder, "last_recv_remote_config.dat");
  const effectiveFile = join(folder, "effective.yaml");
  const state = await readState(stateFile);
  const saveState = () => writeFile(stateFile, toYaml(state), { mode: 0o600 });
  await saveState();
  return {
    state,
    effectiveFile,
    logFile: join(folder, "agent.log"),
    saveState,
    loadRemoteConfig: async () => {
      const bytes = await ifPresent(readFile(remoteFile));
      return bytes === undefined ? undefined : decodeRemoteConfig(bytes);
    },
    saveRemoteConfig: ({ config, configHash }) => {
      const message = { config: fromConfigMap(config), configHash };
      return writeFile(remoteFile, pb.AgentRemoteConfig.encode(message, protobuf.Writer.create()).finish(), {
        mode: 0o600,
      });
    },
    writeEffective: (text) => writeFile(effectiveFile, text, { mode: 0o600 }),
  };
}

async function readState(file: string): Promise<SupervisorState> {
  const text = await ifPresent(readFile(file, "utf8"));
  const stored = stateSchema.parse(text === undefined ? {} : (parse(text) ?? {}));
  const last = stored.last_remote_config_status;
  return {
    instanceId: readUid(stored.instance_id ?? "") ?? uuidV7(Date.now(), randomBytes(10)),
    remoteConfigStatus: last
      ? {
          status: last.status,
          lastRemoteConfigHash: Buffer.from(last.last_remote_config_hash, "hex"),
          errorMessage: last.error_message,
        }
      : undefined,
  };
}

function toYaml({ instanceId, remoteConfigStatus }: SupervisorState): string {
  return stringify({
    instance_id: instanceId,
    last_remote_config_status: remoteConfigStatus
      ? {
          status: remoteConfigStatus.status,
          last_remote_config_hash: Buffer.from(remoteConfigStatus.lastRemoteConfigHash).toString("hex"),
          error_message: remoteConfigStatus.errorMessage,
        }
      : null,
  });
}

async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
