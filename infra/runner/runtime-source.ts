import { isUnavailable } from '../../domain/refusal.ts';
import { answerInTime } from './answer-in-time.ts';
import { type RunnerAgent, retryTransient } from './api-client.ts';
import type { Runtime, RuntimeFiles } from './runtime-files.ts';

/** If a runtime is known, a run waits at most this long, in milliseconds, to learn whether it has changed. */
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

/** `startedAt` is a time of `performance.now()`. */
type Request = { readonly answer: Promise<Runtime>; readonly startedAt: number; readonly isRepeated: boolean };

/**
 * Creates the source of the runtime. Before each run, it asks the service whether the runtime has changed; runs that start
 * soon after each other share a request. While the service is unavailable or slow, runs get the last known runtime. If none is
 * known yet, or the service has refused it, they wait for the service: a run that failed instead would be delayed, so that
 * later events would be processed before it.
 */
export const runtimeSource = ({ agent, fetch, files, report, stop }: Options): RuntimeSource => {
  let known: Runtime | null = null;
  let pending: Request | null = null;
  let requests = 0;
  /** The number of the newest request that is answered. */
  let answered = 0;
  if (!agent.hasRunnerKey) report('ANNALS_KEY is not a runner key of the agent: commands get no ANNALS_RUNTIME');

  /** A late answer does not replace that to a newer request. `runtime` is null after a refusal. */
  const learn = (request: number, runtime: Runtime | null): void => {
    if (request < answered) return;
    answered = request;
    known = runtime;
  };

  const ask = async (last: Runtime | null): Promise<Runtime> => {
    const request = ++requests;
    try {
      const runtime = last ? await fetch(agent, last) : await retryTransient(() => fetch(agent, null), stop);
      learn(request, runtime);
      return runtime;
    } catch (error) {
      if (!isUnavailable(error)) learn(request, null);
      throw error;
    }
  };

  /** A request that is not answered in time, for example because its connection is broken, is not shared any more. */
  const shared = (last: Runtime | null): Promise<Runtime> => {
    const isLate = pending !== null && performance.now() - pending.startedAt >= ANSWER_TIMEOUT_MS;
    if (pending && (pending.isRepeated || (last !== null && !isLate))) return pending.answer;
    const started: Request = {
      answer: ask(last).finally(() => {
        if (pending === started) pending = null;
      }),
      startedAt: performance.now(),
      isRepeated: last === null,
    };
    pending = started;
    return started.answer;
  };

  const current = (): Promise<Runtime> => {
    const last = known;
    if (!last) return shared(null);
    const answer = shared(last).catch((error: unknown) => {
      if (isUnavailable(error)) return known ?? last;
      throw error;
    });
    return answerInTime(answer, { ms: ANSWER_TIMEOUT_MS, otherwise: () => known ?? last });
  };

  return {
    withVariables: async (run) => {
      if (!agent.hasRunnerKey) return run({});
      return files.withFile(await current(), (path) => run({ ANNALS_RUNTIME: path }));
    },
  };
};
