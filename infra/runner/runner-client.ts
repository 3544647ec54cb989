import { join } from 'node:path';
import { cleanPasted } from '../../domain/pasted-text.ts';
import { Refusal } from '../../domain/refusal.ts';
import { escapeLine } from '../logging/escape-controls.ts';
import { apiClient, type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import type { AgentSettings, Entry, NewReservation, NewSession, Report } from './api-types.ts';
import { createAttemptReporter, learningSecrets } from './attempt-reporter.ts';
import { reserveBudget } from './budget-client.ts';
import { createBudgetGate } from './budget-gate.ts';
import { BudgetExceeded, budgetRefusalOf } from './budget-refusal.ts';
import { causeOfError, stackOf } from './failed-attempt.ts';
import { createKnownSecrets } from './known-secrets.ts';
import { openInOrder } from './open-in-order.ts';
import { createOutageReport } from './outage-report.ts';
import { type EventHandler, receiveEvents } from './receive-events.ts';
import type { EntryOptions, LiveRunnerSession, ReceiveOptions, RunnerReservation, RunnerSession } from './runner-session.ts';
import type { Runtime } from './runtime-files.ts';
import { type Client, liveSession, remember, startSession } from './session-client.ts';

export type {
  AgentSettings,
  Attachment,
  End,
  Entry,
  Message,
  NewMessage,
  NewReservation,
  NewSession,
  Reservation,
  Session,
} from './api-types.ts';
export type {
  Ask,
  Decision,
  EntryOptions,
  Keyed,
  LiveFile,
  LiveMessage,
  LiveRunnerSession,
  NewAttachment,
  ReceiveOptions,
  RunnerReservation,
  RunnerSession,
} from './runner-session.ts';
export { SessionStopped } from './runner-session.ts';
export { BudgetExceeded, Refusal };

/** A CloudEvent for an agent, as `/asyncapi.json` describes it. The body, even a large one, is `data` if it is JSON, else `data_base64`. */
export type RunnerEvent = {
  readonly specversion: '1.0';
  /** The id of the event. It is the same in every attempt to deliver the event. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly tenant: string;
  readonly agent: string;
  /** The provider of a delivery; `skill` for a call of a skill, `cron` for a cron job, `benchmark` for a benchmark run. */
  readonly provider?: string;
  readonly providerevent?: string;
  readonly providerid?: string;
  /** The id of the delivery. Absent if the event is not a delivery, such as `annals.credential.fulfilled`. */
  readonly deliveryid?: string;
  readonly integration?: string;
  readonly skill?: string;
  readonly cronjob?: string;
  readonly cronname?: string;
  readonly occurrence?: string;
  /** The slug of the benchmark, if the event is a benchmark run. */
  readonly benchmark?: string;
  readonly dueat?: string;
  readonly contenttrust: 'untrusted' | 'trusted';
  readonly labels?: string;
  readonly causedby?: string;
  readonly redeliveryof?: string;
  /** The W3C trace context of the request with which the delivery arrived. */
  readonly traceparent?: string;
  /** For an event of a session: its session, the person who caused it, and the event before it. */
  readonly session?: string;
  readonly user?: string;
  readonly previous?: string;
  readonly datacontenttype?: string;
  readonly data?: unknown;
  readonly data_base64?: string;
};

/** The error with which a handler requests that the event is delivered again after a certain delay, in milliseconds. */
export class RetryLater extends Error {
  readonly delayMs: number;
  constructor(delayMs: number, reason = 'it is to be tried again later') {
    super(reason);
    this.name = 'RetryLater';
    this.delayMs = delayMs;
  }
}

export type ConnectOptions = {
  /** The URL of the service. Default: ANNALS_URL. */
  readonly url?: string | undefined;
  /** A runner key of the agent. Default: ANNALS_KEY. */
  readonly key?: string | undefined;
  /** The slug or the id of the agent, if the key is not a runner key. */
  readonly agent?: string;
  /** The directory for the ids of processed events. Default: `.annals/runner`. */
  readonly dir?: string;
  /** Called with a line when something fails or works again. By default, the line is printed to standard error. */
  readonly report?: (line: string) => void;
  /** If this signal is aborted, the runner stops when the events that are being processed have ended. */
  readonly signal?: AbortSignal;
};

/**
 * Processes an event. If it throws, the event is delivered again after an increasing delay, at most ten times. After
 * BudgetExceeded, the event is processed again as soon as the budget allows it, and this does not count as an attempt.
 * If the runner ends just after the effect of the handler, the event is processed twice, so a handler should recognise
 * by `id` an event that it has already processed.
 */
export type Handler = (event: RunnerEvent, context: HandlerContext) => Promise<unknown>;

/** A score from 0 to 1, or the reason why there is none. The trajectory can be any JSON. */
export type TaskResult = Omit<Report, 'run_id'>;

export type HandlerContext = {
  /** How often the event has been delivered, including this time. */
  readonly attempt: number;
  /**
   * Waits until the result is stored. Only for events of benchmark runs; only the first result of a task counts.
   * @throws Refusal invalid, too_large, unavailable
   */
  readonly reportResult: (result: TaskResult) => Promise<void>;
  /**
   * The session; present only for an event of a session (`annals.session.…`). `session.messages()` yields what a person
   * writes while the handler works. Messages that the handler has taken, and decisions for which `session.approve` has
   * waited, count as processed when the handler returns. If a person interrupts or cancels the session, `session.signal`
   * is aborted. The event and the messages before the stop then count as processed, even if the handler throws.
   */
  readonly session?: LiveRunnerSession;
};

export type Runner = {
  readonly tenant: string;
  readonly agent: { readonly id: string; readonly slug: string };
  /** Reads settings, models, skills, tools and secrets of the agent. The service sends them only if they have changed. */
  readonly runtime: () => Promise<AgentSettings>;
  /** Starts a session. With an Idempotency-Key, a repeat after a crash returns the same session. */
  readonly startSession: (session?: NewSession, idempotencyKey?: string) => Promise<RunnerSession>;
  /** Reserves a part of the hourly budget. @throws BudgetExceeded */
  readonly reserve: (reservation: NewReservation) => Promise<RunnerReservation>;
  /** Adds a text to the memory of the agent. */
  readonly remember: (text: string, options?: EntryOptions) => Promise<Entry>;
  /**
   * Processes the agent's events until the signal is aborted, or `max` runs have ended. An event whose handler
   * returns is acknowledged, and not processed again.
   * @returns whether `max` runs have ended and at least one of them has failed
   */
  readonly receive: (handle: Handler, options?: ReceiveOptions) => Promise<boolean>;
};

const handlerOf =
  (client: Client, handle: Handler): EventHandler =>
  async ({ event, json, attempt, publishResult, live }) => {
    try {
      const session = live && event.session !== undefined ? { session: liveSession(client, event.session, live) } : {};
      await handle(JSON.parse(Buffer.from(json).toString()) as RunnerEvent, { attempt, reportResult: publishResult, ...session });
      return null;
    } catch (error) {
      const reason = `the handler failed (${error instanceof Error ? error.message : String(error)})`;
      const isReleased = error instanceof RetryLater;
      const cause = {
        ...causeOfError(error, isReleased ? 'released' : 'failed'),
        output: { text: stackOf(error), part: 'end', isCut: false } as const,
      };
      return { reason, delayMs: isReleased ? error.delayMs : undefined, cause, budget: budgetRefusalOf(error) };
    }
  };

const requireSetting = (value: string | undefined, name: string): string => {
  if (value) return value;
  throw new Refusal('not_configured', `${name} is not set`);
};

const runtimeReader = (api: RunnerApi, agent: RunnerAgent, stop: AbortSignal) => {
  let known: Runtime | null = null;
  return async (): Promise<AgentSettings> => {
    known = await retryTransient(() => api.runtime(agent, known), stop);
    return JSON.parse(known.body) as AgentSettings;
  };
};

const printLine = (line: string): void => void process.stderr.write(`annals runner: ${escapeLine(line)}\n`);

/**
 * Connects a runner to the service. While the service is unavailable, this function and all methods of its result wait.
 * @throws Refusal if the key or the agent is not accepted; all methods do the same
 */
export const connectRunner = async (options: ConnectOptions = {}): Promise<Runner> => {
  const { report = printLine, dir = join('.annals', 'runner'), signal: stop = new AbortController().signal } = options;
  const url = requireSetting(options.url ?? process.env.ANNALS_URL, 'ANNALS_URL');
  const key = cleanPasted(requireSetting(options.key ?? process.env.ANNALS_KEY, 'ANNALS_KEY'));
  const secrets = createKnownSecrets([key]);
  const api = learningSecrets(apiClient({ url, key, outage: createOutageReport(report, 'the service answers again') }), secrets);
  const agent = await retryTransient(() => api.find(options.agent), stop);
  const client: Client = { api, agent, stop, mask: secrets.mask };
  return {
    tenant: agent.tenant,
    agent: { id: agent.agent, slug: agent.slug },
    runtime: runtimeReader(api, agent, stop),
    startSession: (session = {}, idempotencyKey) => startSession(client, session, idempotencyKey),
    reserve: (reservation) => reserveBudget(client, reservation),
    remember: (text, options) => remember(client, text, options),
    receive: (handle, { progressMs, ...limits } = {}) => {
      const { open, processed, steered } = openInOrder({ api, agent, report, dir, progressMs });
      const reporter = createAttemptReporter({ api, agent, secrets, report });
      const budget = createBudgetGate({ api, agent, report });
      const receiver = {
        open,
        processed,
        body: api.body,
        handler: handlerOf(client, handle),
        steered,
        reporter,
        budget,
        report,
        progressMs,
      };
      return receiveEvents(receiver, { stop, ...limits });
    },
  };
};
