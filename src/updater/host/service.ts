/** The supervisor's service, as the host program needs it: one port, one implementation per way to run a service. */
export type ServiceAccount = {
  /** Undefined where the system has no such ids, or they are not known. */
  uid: number | undefined;
  gid: number | undefined;
  /** Undefined when it cannot be determined. */
  environment: Record<string, string> | undefined;
};

export type ServiceManager = {
  /** Throws (class `install`) when there is no such service to stop and start. */
  checkExists: () => Promise<void>;
  isRunning: () => Promise<boolean>;
  /** Whether it does not run although nobody stopped it: it ended by itself, and may be about to be started again. */
  hasFailed: () => Promise<boolean>;
  /** Afterwards the service was started, limits on restarts forgotten. It need not be healthy. */
  start: () => Promise<void>;
  /** Afterwards supervisor and collector are gone, leftovers ended by pid. Throws (class `install`) when one stays. */
  stop: () => Promise<void>;
  account: () => Promise<ServiceAccount>;
  /**
   * The end of what the supervisor said since `start` was last called, or in its last run when it never was; undefined
   * where nobody keeps that for us.
   */
  saidSinceStart: () => Promise<string | undefined>;
  /** Undefined while none runs, or where the system does not tell. */
  supervisorPid: () => Promise<number | undefined>;
  /** The host program ends: what runs as its child is stopped; a service of the system goes on. */
  close: () => Promise<void>;
};

export type Log = {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};
