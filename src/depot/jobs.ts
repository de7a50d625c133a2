/** The transfers that somebody may ask about: all that run, and a bounded number of those that ended. */
import type { Job } from "./wire.ts";

const KEPT_JOBS = 1_000;
type Known = { job: Job; ended: Promise<void>; cancel: () => void };

export function createJobs() {
  const jobs = new Map<string, Known>();
  return {
    remember: (job: Job, ended: Promise<void>, cancel: () => void): void => {
      jobs.set(job.id, { job, ended, cancel });
      for (const [id, { job: old }] of jobs) {
        if (jobs.size <= KEPT_JOBS) return;
        if (old.state !== "running") jobs.delete(id);
      }
    },
    cancel: (id: string): Job | undefined => {
      const known = jobs.get(id);
      known?.cancel();
      return known?.job;
    },
    /** The job, after its end or `waitMs`. */
    wait: async (id: string, waitMs: number): Promise<Job | undefined> => {
      const known = jobs.get(id);
      if (known === undefined || waitMs === 0) return known?.job;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, waitMs);
      });
      await Promise.race([known.ended, late]);
      clearTimeout(timer);
      return known.job;
    },
  };
}
