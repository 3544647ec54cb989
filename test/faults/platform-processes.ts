import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, type ProcessRef } from '../../infra/supervision/os-process.ts';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { deadline } from '../fixtures/load-factor.ts';

export const PROCESS_NAMES = ['serve', 'work', 'store', 'postgres', 'nats'] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];

/**
 * The maximum time for finding the process to kill, and also for the start of its successor. Both times are longer on a
 * busy machine.
 */
const KILL_TIMEOUT_MS = 10_000;

/** Returns functions that end the processes of the platform with this data directory. */
export const platformProcesses = (data: string) => {
  const processOf = (name: ProcessName): ProcessRef | undefined => readPidFile(join(data, 'run', `${name}.pid`));
  const remainingProcesses = (): ProcessRef[] =>
    [...PROCESS_NAMES.map(processOf), readPidFile(join(data, 'annals.pid'))].filter((each) => each !== undefined);

  /** Ends all processes that are named in pid files and still running. @returns their process ids */
  const endRemainingProcesses = async (): Promise<number[]> => {
    const remaining = remainingProcesses();
    for (const each of remaining) await endProcess(each, 'SIGTERM', 5_000);
    return remaining.map(({ pid }) => pid);
  };

  /** Kills a process with SIGKILL. @returns the milliseconds until its successor has started */
  const kill = async (name: ProcessName): Promise<number> => {
    let killed = processOf(name);
    for (const isOver = deadline(KILL_TIMEOUT_MS); !killed && !isOver(); killed = processOf(name)) await sleep(50);
    if (!killed) throw new Error(`the process ${name} does not run, so it cannot be killed`);
    process.kill(killed.pid, 'SIGKILL');
    const killedAt = Date.now();
    for (const isOver = deadline(KILL_TIMEOUT_MS); !isOver(); ) {
      await sleep(25);
      const next = processOf(name);
      if (next && next.pid !== killed.pid) return Date.now() - killedAt;
    }
    throw new Error(`no process has replaced ${name}, process ${killed.pid}`);
  };

  return { endRemainingProcesses, kill };
};
