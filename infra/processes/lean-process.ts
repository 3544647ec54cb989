import { flushCompileCache } from 'node:module';
import { COMPILE_CACHE } from '../compile-cache.ts';
import { entryPoint, PROGRAM_ROOT } from '../program.ts';
import type { RunnerOptions } from '../runner/runner.ts';
import type { ProgramPlace } from './program-copy.ts';
import type { StartConfig } from './start.ts';

type Program =
  | { readonly command: 'start'; readonly options: StartConfig }
  | { readonly command: 'runner'; readonly options: Omit<RunnerOptions, 'signal'> };

/** The data that a process passes to the process that replaces it. */
type Handover = Program & {
  /**
   * The value of NODE_COMPILE_CACHE that the user has set; null if none. It is passed on to the programs that this
   * process starts.
   */
  readonly userCache: string | null;
  readonly isRetry: boolean;
};

const VARIABLE = 'ANNALS_LEAN_PROCESS';
const OWN_PLACE: ProgramPlace = { root: PROGRAM_ROOT, node: process.execPath };

/**
 * Node flags that save memory by limiting the heap. The process of `start` only supervises other processes, so its
 * optimizing compilers are switched off, too.
 */
const V8_FLAGS = {
  start: ['--max-semi-space-size=1', '--optimize-for-size', '--no-opt', '--no-maglev', '--no-sparkplug'],
  runner: ['--max-semi-space-size=1', '--optimize-for-size'],
};

const replaceThisProcess = (handover: Handover, { root, node }: ProgramPlace): never => {
  flushCompileCache();
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || COMPILE_CACHE,
    [VARIABLE]: JSON.stringify(handover),
  } as NodeJS.ProcessEnv;
  const flags = [...process.execArgv, ...V8_FLAGS[handover.command].filter((flag) => !process.execArgv.includes(flag))];
  return process.execve!(node, [node, ...flags, entryPoint('infra/processes/lean-main.mjs', root), handover.command], env);
};

/**
 * Replaces this process with one that loads only the modules that a long-running command needs. The process id and the
 * standard streams stay the same. This frees about 40 MiB of memory that this process needed to parse the command line
 * and the configuration. The new process runs from a copy of the program.
 */
export const becomeLean = async (program: Program): Promise<never> => {
  const { programPlace } = await import('./program-copy.ts');
  return replaceThisProcess({ ...program, userCache: process.env.NODE_COMPILE_CACHE ?? null, isRetry: false }, programPlace());
};

/**
 * Returns whether Node has loaded its TypeScript compiler, which takes 18 MiB. Node does so if the compile cache lacks
 * a file that this process imports.
 */
const hasLoadedCompiler = (): boolean =>
  ((process as { moduleLoadList?: string[] }).moduleLoadList ?? []).some((name) => name.includes('amaro'));

const load = async (program: Program): Promise<() => Promise<number>> => {
  if (program.command === 'start') {
    const { start } = await import('./start.ts');
    return () => start(program.options);
  }
  const { runner } = await import('../runner/runner.ts');
  return () => runner(program.options);
};

/** Runs the command that was passed to `becomeLean`. @returns the exit code */
export const runLean = async (): Promise<number> => {
  const handover = JSON.parse(process.env[VARIABLE]!) as Handover;
  const run = await load(handover);
  // The first process after an installation or an update has to compile the files and fill the compile cache. It is
  // replaced once more, by a process that runs from the cache, without the TypeScript compiler.
  if (!handover.isRetry && hasLoadedCompiler()) replaceThisProcess({ ...handover, isRetry: true }, OWN_PLACE);
  delete process.env[VARIABLE];
  if (handover.userCache === null) delete process.env.NODE_COMPILE_CACHE;
  else process.env.NODE_COMPILE_CACHE = handover.userCache;
  return run();
};
