import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { derivedId } from '../aggregates/transact.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import { type AddressedAdvisory, type Batch, openAdvisories } from '../nats/advisories.ts';
import { ensureInbound, reasonOf } from '../nats/jetstream.ts';

export type AcknowledgementParts = { log: Log; nats: NatsConnection; logger: Logger; everyMs?: number };

const EVERY_MS = 2_000;
const RETRY_MS = 500;
const MAX_RETRY_DELAY_MS = 10_000;

type Standing = { state: Acknowledgement.Acknowledgements; revision: number };

/** The last event says how far the stream is; the ones before it need not be read. */
const standing = async (log: Log, stream: string): Promise<Standing> => {
  const last = (await log.last(stream)) as Recorded<Acknowledgement.AcknowledgementEvent> | null;
  if (!last) return { state: Acknowledgement.initial, revision: -1 };
  return { state: Acknowledgement.evolve(Acknowledgement.initial, last), revision: last.revision };
};

const append = async (log: Log, stream: string, { revision }: Standing, events: readonly NewEvent[]): Promise<void> => {
  try {
    await log.append(stream, revision < 0 ? 'none' : revision, events);
  } catch (error) {
    // Another reactor was first: what it wrote shows when the stream is read again.
    if (!(error instanceof LogError && error.kind === 'conflict')) throw error;
  }
};

/** Takes one agent's notices into its stream: whatever of them is there already is not written again, whoever wrote it. */
const record = async (
  log: Log,
  epoch: string,
  tenant: string,
  agent: string,
  notices: readonly Acknowledgement.Advisory[],
): Promise<void> => {
  const stream = streamName(Acknowledgement.category, tenant, agent);
  for (;;) {
    const now = await standing(log, stream);
    const events = Acknowledgement.recordAdvisories(epoch, notices)(now.state);
    if (events.length === 0) return;
    const meta: Metadata = { tenant, actor: { kind: 'system', id: 'acknowledgements' }, at: new Date().toISOString(), v: 1 };
    const named = events.map(({ type, data }, index) => ({
      id: derivedId(stream, epoch, data.capture.sequence, now.revision + 1 + index),
      type,
      data,
      meta,
    }));
    await append(log, stream, now, named);
  }
};

const byAgent = (notices: readonly AddressedAdvisory[]): AddressedAdvisory[][] => [
  ...Map.groupBy(notices, ({ tenant, agent }) => `${tenant}.${agent}`).values(),
];

const recordAll = async (log: Log, epoch: string, { notices }: Batch): Promise<void> => {
  for (const group of byAgent(notices)) {
    const { tenant, agent } = group[0]!;
    await record(
      log,
      epoch,
      tenant,
      agent,
      group.map(({ notice }) => notice),
    );
  }
};

/**
 * Brings what runners acknowledged or gave up back into the log, one event an agent every few seconds. How far it is stands in each
 * agent's stream, so that a crash repeats nothing and any number may run.
 */
export const startAcknowledgements = ({ log, nats, logger, everyMs = EVERY_MS }: AcknowledgementParts): { close: () => Promise<void> } => {
  const control = new AbortController();
  const { signal } = control;
  let failures = 0;

  const follow = async (): Promise<void> => {
    await ensureInbound(nats);
    const notices = await openAdvisories(nats);
    try {
      while (!signal.aborted) {
        const batch = await notices.next(everyMs);
        failures = 0;
        if (!batch) continue;
        await recordAll(log, notices.epoch, batch);
        await notices.forget(batch.through);
      }
    } finally {
      await notices.close();
    }
  };

  const live = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (signal.aborted) return;
        logger[failures === 0 ? 'warn' : 'debug']({ error: reasonOf(error) }, 'acknowledgements wait');
        await sleep(Math.min(MAX_RETRY_DELAY_MS, RETRY_MS * 2 ** failures++), undefined, { signal }).catch(() => {});
      }
    }
  };

  const living = live();
  return {
    close: async () => {
      control.abort();
      await living;
    },
  };
};
