import { type JsMsg, type NatsConnection, NatsError } from 'nats';
import {
  advanceRun,
  BENCHMARKS,
  type OpenRun,
  type Report,
  readReport,
  recordReports,
} from '../../commands/benchmarks/benchmark-runs.reactor.ts';
import { createAgentChecks } from '../../commands/schedule/agent-checks.ts';
import { isUnavailable } from '../../domain/refusal.ts';
import { reporterOf } from '../../domain/runners/score-report.ts';
import { hasOpenRuns, MAX_ADVANCED_RUNS, runsToAdvance } from '../../projections/benchmarks/benchmark-run.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { deliveryAppender } from '../deliveries/append-delivery.ts';
import { LogError } from '../eventstore/event-log.ts';
import { createCountedWarnings } from '../logging/counted-warnings.ts';
import { openScoreReports } from '../nats/score-reports.ts';
import { openOnce } from '../open-once.ts';
import { forEachConcurrently } from '../reactors/for-each-concurrently.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';
import type { SealedEvents } from '../vault/sealed-events.ts';

const TRIGGERED = { type: 'BenchmarkRunTriggered', actor: BENCHMARKS, seed: 'triggered' } as const;
/** While no run is open, the reactor looks for results only once in this number of ticks. */
const IDLE_TICKS = 5;
/** The maximum number of batches of results that are recorded before the runs are looked at again. */
const MAX_BATCHES = 20;

/** A result that still cannot be recorded after these attempts, although all services work, is dropped. */
const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 2_000;

/** Returns whether an error means that a service does not work at present. */
const isTemporary = (error: unknown): boolean =>
  error instanceof NatsError || (error instanceof LogError && error.kind === 'unavailable') || isUnavailable(error);

/** `report` is the valid result in the message. */
type Received = { readonly message: JsMsg; readonly report: Report };

const isValid = (received: { readonly message: JsMsg; readonly report: Report | null }): received is Received => received.report !== null;

const retryOrDrop = async (message: JsMsg): Promise<void> => {
  if (message.info.deliveryCount >= MAX_ATTEMPTS) await message.ackAck();
  else message.nak(RETRY_DELAY_MS);
};

type SealVault = Pick<SealedEvents, 'sealEvent'>;

/** `vault` and `blobs` are opened when a run is open for the first time. */
type Services = TimerServices & {
  readonly nats: NatsConnection;
  readonly vault: { readonly open: () => Promise<SealVault> };
  readonly blobs: () => Promise<BlobStore>;
};

const openTick = async ({ log, vault, blobs: openBlobs, now = Date.now }: Services) => {
  const [opened, blobs] = [await vault.open(), await openBlobs()];
  const ctx = reactorContext(log, { actor: BENCHMARKS, now });
  return {
    contextOf: (tenant: string) => ({ ...ctx.inTenant(tenant), blobs: blobs.of(tenant) }),
    messages: { agents: createAgentChecks(ctx), createDelivery: deliveryAppender(log, opened, TRIGGERED) },
  };
};

type ContextOf = Awaited<ReturnType<typeof openTick>>['contextOf'];

const OUTCOMES: Readonly<Record<string, OpenRun['outcome']>> = { done: 'acknowledged', dead: 'given_up' };

const openRuns = (services: Services): Runs => {
  const { nats, logger, now = Date.now } = services;
  const warnOfWrong = createCountedWarnings(logger, 'runners have published benchmark results that are not valid; they are dropped', now);
  const warnOfUnrecorded = createCountedWarnings(logger, 'results of a benchmark run cannot be recorded', now);
  let idleTicks = 0;
  let hasBacklog = false;
  let openReports = openOnce(() => openScoreReports(nats));

  /** Drops results that still fail after several attempts although all services work. */
  const recordGroup = async (contextOf: ContextOf, received: readonly Received[]): Promise<void> => {
    try {
      const reports = received.map(({ report }) => report);
      await recordReports(contextOf(reports[0]!.tenant), reports);
      await Promise.all(received.map(({ message }) => message.ackAck()));
    } catch (error) {
      if (isTemporary(error)) throw error;
      warnOfUnrecorded(received[0]!.message.subject, { run: received[0]!.report.run_id, reason: (error as Error).message });
      await Promise.all(received.map(({ message }) => retryOrDrop(message)));
    }
  };

  const recordBatch = async (contextOf: ContextOf, messages: readonly JsMsg[]): Promise<void> => {
    const received = messages.map((message) => {
      const reporter = reporterOf(message.subject);
      return { message, report: reporter && readReport(reporter, message.data) };
    });
    const wrong = received.filter(({ report }) => report === null);
    for (const { message } of wrong) warnOfWrong(message.subject);
    await Promise.all(wrong.map(({ message }) => message.ackAck()));
    const groups = Object.groupBy(received.filter(isValid), ({ report: { tenant, agent, run_id } }) => `${tenant} ${agent} ${run_id}`);
    await forEachConcurrently(Object.values(groups), (group) => recordGroup(contextOf, group!));
  };

  /** Returns whether all results are recorded that were published before the call. */
  const recordPublished = async (contextOf: ContextOf): Promise<boolean> => {
    const reports = await openReports();
    try {
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const messages = await reports.next();
        if (messages.length === 0) return await reports.isDrained();
        await recordBatch(contextOf, messages);
      }
      return false;
    } catch (error) {
      // The server may have lost the stream or the consumer: create them again at the next call.
      openReports = openOnce(() => openScoreReports(nats));
      throw error;
    }
  };

  return {
    run: async (reads, at) => {
      // Create the stream before the first run is sent, so that it exists when a runner publishes results.
      const reports = await openReports();
      const isIdle = !(await hasOpenRuns(reads));
      // Late results must be removed even if no run is open, so check the stream then, too, but less often.
      if (isIdle && !hasBacklog && (idleTicks++ % IDLE_TICKS !== 0 || (await reports.isDrained()))) return false;
      const { contextOf, messages } = await openTick(services);
      const runs = await runsToAdvance(reads, at);
      const isDrained = await recordPublished(contextOf);
      hasBacklog = !isDrained;
      // A runner publishes results before it acknowledges the run: after that, record them before the run is handled.
      const ready = runs.filter(({ status }) => isDrained || !OUTCOMES[status ?? '']);
      await forEachConcurrently(ready, ({ tenant_id, id, status }) =>
        advanceRun(contextOf(tenant_id), messages, { id, has_delivery: status !== null, outcome: OUTCOMES[status ?? ''] ?? null }).catch(
          (error: Error) => logger.warn({ run: id, reason: error.message }, 'a benchmark run cannot continue now; trying again'),
        ),
      );
      return !isDrained || runs.length === MAX_ADVANCED_RUNS;
    },
  };
};

/**
 * Sends runs to runners, records the results that they publish, and ends runs whose message was acknowledged or given up, or whose time is
 * over. Repeating a step after a crash has no second effect.
 */
export const benchmarkRunner = timedRuns({
  lock: 'reactor benchmark runs',
  everyMs: 1_000,
  failure: 'benchmark runs cannot continue now; trying again',
  open: openRuns,
});
