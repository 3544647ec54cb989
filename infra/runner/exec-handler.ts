import { join } from 'node:path';
import { BENCHMARK_MESSAGE_TYPE } from '../../domain/runners/cloud-event.ts';
import type { RunnerAgent, RunnerApi } from './api-client.ts';
import { BUDGET_EXIT_CODE } from './budget-refusal.ts';
import { causeOfError } from './failed-attempt.ts';
import type { EventHandler, ReceivedEvent } from './receive-events.ts';
import { withResultFile } from './result-lines.ts';
import { type CommandEnd, type CommandRun, runCommand } from './run-command.ts';
import { openRuntimeFiles } from './runtime-files.ts';
import { runtimeSource } from './runtime-source.ts';

/** `kill` sends SIGTERM to the running commands, `force` SIGKILL. */
export type CommandSignals = Pick<CommandRun, 'kill' | 'force'>;

type Options = {
  readonly exec: string;
  readonly agent: RunnerAgent;
  readonly api: RunnerApi;
  readonly dir: string;
  readonly signals: CommandSignals;
  readonly timeoutMs: number | undefined;
  readonly report: (line: string) => void;
  /** After this signal is aborted, a run no longer waits for the service's answer. */
  readonly stop: AbortSignal;
};

const variablesFor = (slug: string, { event, attempt }: ReceivedEvent): Record<string, string> => ({
  ANNALS_EVENT_ID: event.id,
  ANNALS_DELIVERY_ID: event.providerid ?? event.delivery_id ?? '',
  ANNALS_SUBJECT: event.subject,
  ANNALS_AGENT: slug,
  ANNALS_ATTEMPT: String(attempt),
  ...(event.session === undefined ? {} : { ANNALS_SESSION_ID: event.session }),
  ...(event.traceparent === undefined ? {} : { TRACEPARENT: event.traceparent }),
});

/** The command gets the CloudEvent on standard input. Exit code 0 means success. */
export const execHandler = ({ exec, agent, api, dir, signals, timeoutMs, report, stop }: Options): EventHandler => {
  const runtime = runtimeSource({ agent, fetch: api.runtime, files: openRuntimeFiles(join(dir, 'runtime')), report, stop });
  const run = (received: ReceivedEvent, more: Readonly<Record<string, string>> = {}): Promise<CommandEnd> =>
    runtime.withVariables((variables) =>
      runCommand({
        exec,
        input: received.json,
        env: { ...variablesFor(agent.slug, received), ...variables, ...more },
        timeoutMs,
        ...signals,
        end: received.live?.signal,
      }),
    );
  /** Publishes the results that the command writes to the file in ANNALS_SCORES. */
  const runBenchmark = async (received: ReceivedEvent): Promise<CommandEnd> => {
    const { ended, fault } = await withResultFile(join(dir, 'results'), received.publishResult, (path) =>
      run(received, { ANNALS_SCORES: path }),
    );
    return ended.ended === 0 && fault !== null
      ? { ...ended, ended: `a line in ANNALS_SCORES that is not a valid result: ${fault}` }
      : ended;
  };
  return async (received) => {
    const start = received.event.type === BENCHMARK_MESSAGE_TYPE ? runBenchmark : run;
    const { ended, cause } = await start(received).catch(
      (error: Error): CommandEnd => ({ ended: error.message, cause: causeOfError(error, 'failed') }),
    );
    if (ended === 0) return null;
    return { reason: `the command ended with ${ended}`, cause, ...(ended === BUDGET_EXIT_CODE && { budget: { isCertain: false } }) };
  };
};
