import { join } from 'node:path';
import { escapeLine } from '../logging/escape-controls.ts';
import { apiClient, type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import { createAttemptReporter, learningSecrets } from './attempt-reporter.ts';
import { createBudgetGate } from './budget-gate.ts';
import { type CommandSignals, execHandler } from './exec-handler.ts';
import { forwardHandler } from './forward-handler.ts';
import { createKnownSecrets, secretsOfUrl } from './known-secrets.ts';
import { openInOrder } from './open-in-order.ts';
import { createOutageReport } from './outage-report.ts';
import { type EventHandler, receiveEvents } from './receive-events.ts';

export type RunnerOptions = {
  url: string;
  key: string;
  /** The slug or the id of the agent. */
  agent: string;
  /** A shell command. It receives one CloudEvent, as JSON, on its standard input. */
  exec?: string | undefined;
  /** The URL to which the CloudEvents are posted, if there is no command. */
  forward?: string | undefined;
  /**
   * If this signal is aborted, the runner stops as soon as the running commands have ended. Without such a signal, the
   * runner reacts to process signals: the first one stops it in the same way, the second one sends SIGTERM to the
   * commands, and the third one kills them.
   */
  signal?: AbortSignal;
  concurrency?: number;
  /** The number of runs after which the runner ends. By default, it runs until it is stopped. */
  max?: number | undefined;
  /** The time limit of a run in milliseconds. A run that takes longer is ended, and counts as failed. */
  timeoutMs?: number | undefined;
  /** The directory for the files of processed ids, one per agent, and for the files with the runtime, one per run. */
  dir?: string;
  /** How often the runner reports progress to the broker while an event is processed, in milliseconds. */
  progressMs?: number;
};

const report = (line: string): void => void process.stderr.write(`annals runner: ${escapeLine(line)}\n`);

/** The first process signal stops the runner, the second sends SIGTERM to the commands, the third kills them. */
const processSignals = (): { stop: AbortSignal } & CommandSignals => {
  const [stop, kill, force] = [new AbortController(), new AbortController(), new AbortController()];
  const abortNext = (): void => [stop, kill, force].find(({ signal }) => !signal.aborted)?.abort();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, abortNext);
  return { stop: stop.signal, kill: kill.signal, force: force.signal };
};

const noSignals = (): CommandSignals => ({ kill: new AbortController().signal, force: new AbortController().signal });

/** Waits while the service is unavailable. Null if `stop` is aborted first. @throws Refusal */
const findAgent = (api: RunnerApi, agent: string, stop: AbortSignal): Promise<RunnerAgent | null> =>
  retryTransient(() => api.find(agent), stop).catch((error: unknown) => {
    if (stop.aborted) return null;
    throw error;
  });

/**
 * Runs a command for each event, or posts it to a URL, until this succeeds. Ids of processed events are on the disk before
 * acknowledgements, so repeated deliveries are not processed. Returns the exit code: 1 if the runner has ended after `max` runs and one has
 * failed.
 * @throws Refusal with a one-line message if the runner cannot start
 */
export const runner = async (options: RunnerOptions): Promise<number> => {
  const { url, key, signal, exec = '', forward, concurrency, max, timeoutMs, progressMs, dir = join('.annals', 'runner') } = options;
  const { stop, ...signals } = signal ? { stop: signal, ...noSignals() } : processSignals();
  const secrets = createKnownSecrets([key, ...secretsOfUrl(forward ?? '')]);
  const api = learningSecrets(apiClient({ url, key, outage: createOutageReport(report, 'the service answers again') }), secrets);
  const agent = await findAgent(api, options.agent, stop);
  if (!agent) return 0;
  const handler: EventHandler =
    forward === undefined
      ? execHandler({ exec, agent, api, dir, signals, timeoutMs, report, stop })
      : forwardHandler({ url: forward, timeoutMs });
  const { open, processed, steered } = openInOrder({ api, agent, report, dir, progressMs });
  report(`waiting for deliveries to ${agent.slug}${forward === undefined ? '' : `; each is posted to ${forward}`}`);
  const reporter = createAttemptReporter({ api, agent, secrets, report });
  const budget = createBudgetGate({ api, agent, report });
  const receiver = { open, processed, body: api.body, handler, steered, reporter, budget, report, progressMs };
  const hasFailed = await receiveEvents(receiver, { stop, concurrency, max });
  return hasFailed ? 1 : 0;
};
