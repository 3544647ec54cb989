import { answerInTime } from './answer-in-time.ts';
import { type RunnerAgent, retryTransient } from './api-client.ts';
import { isTransient } from './outage-report.ts';
import type { Runtime, RuntimeFiles } from './runtime-files.ts';

/** If a runtime is known, a run waits at most this long for the answer whether it has changed, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000;

export type RuntimeSource = {
  /**
   * ANNALS_RUNTIME is the path of a file with the present runtime, which exists until `run` ends. Not set without a runner key.
   * @throws Refusal if the service does not give the runtime to this runner
   */
  readonly withVariables: <T>(run: (variables: Readonly<Record<string, string>>) => Promise<T>) => Promise<T>;
};

type Options = {
  readonly agent: RunnerAgent;
  /** Returns `known` if the runtime is unchanged. */
  readonly fetch: (agent: RunnerAgent, known: Runtime | null) => Promise<Runtime>;
  readonly files: RuntimeFiles;
  readonly report: (line: string) => void;
  /** After this signal is aborted, runs no longer wait for the service. */
  readonly stop: AbortSignal;
};

/**
 * Creates the source of the runtime. Before each run, it asks the service whether the runtime has changed. While the
 * service is unavailable or slow, runs get the last known runtime. If none is known yet, they wait for the service: a run that
 * failed instead would be delayed, so that later events would be processed before it.
 */
export const runtimeSource = ({ agent, fetch, files, report, stop }: Options): RuntimeSource => {
  let known: Runtime | null = null;
  if (!agent.hasRunnerKey) report('ANNALS_KEY is not a runner key of the agent: commands get no ANNALS_RUNTIME');

  const refresh = async (last: Runtime | null): Promise<Runtime> => {
    known = last
      ? await fetch(agent, last).catch((error: unknown) => {
          if (isTransient(error)) return last;
          throw error;
        })
      : await retryTransient(() => fetch(agent, null), stop);
    return known;
  };

  const current = (): Promise<Runtime> => {
    const last = known;
    return last ? answerInTime(refresh(last), { ms: ANSWER_TIMEOUT_MS, otherwise: () => last }) : refresh(null);
  };

  return {
    withVariables: async (run) => {
      if (!agent.hasRunnerKey) return run({});
      return files.withFile(await current(), (path) => run({ ANNALS_RUNTIME: path }));
    },
  };
};
