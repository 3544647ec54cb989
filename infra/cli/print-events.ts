import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import { Instant } from '../../domain/fields.ts';
import { isId25 } from '../../domain/id.ts';
import { shownValue } from '../../domain/shown-value.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { escapeControls } from '../logging/escape-controls.ts';
import { usageError } from './arguments.ts';
import { locateServices } from './locate-services.ts';

export type ReplayOptions = {
  readonly stream?: string | undefined;
  readonly tenant?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Prints only the events up to this time or position: what was known when an earlier decision was made. */
  readonly at?: string | undefined;
  readonly type?: string | undefined;
  readonly limit?: string | undefined;
  readonly reverse: boolean;
  readonly follow: boolean;
  readonly pretty: boolean;
};

type Bound = { readonly position: Position } | { readonly time: string } | null;

const boundOf = (name: string, text: string | undefined): Bound => {
  if (text === undefined) return null;
  const position = parseToken(text);
  // An event's prepare position is never above its commit position, so `14:38` is a mistyped time and not a position.
  if (position && position.prepare <= position.commit) return { position };
  const time = Instant.safeParse(text).data;
  if (time !== undefined) return { time };
  throw usageError(`--${name} must be a position such as 4711:4711 or a time such as 2026-11-21T10:00:00Z; it is ${shownValue(text)}`);
};

const isBefore = (event: Recorded, bound: Bound): boolean => {
  if (!bound) return false;
  return 'position' in bound ? comparePositions(event.position, bound.position) < 0 : event.at < bound.time;
};

const isAfter = (event: Recorded, bound: Bound): boolean => {
  if (!bound) return false;
  return 'position' in bound ? comparePositions(event.position, bound.position) > 0 : event.at > bound.time;
};

const INDENT = 2;

/** Secrets and the bodies of deliveries stay encrypted. Binary data are base64. */
export const eventText = ({ event_id, stream, revision, position, type, at, data, meta }: Recorded, isPretty = false): string => {
  const content = data instanceof Uint8Array ? { data_base64: Buffer.from(data).toString('base64') } : { data };
  const shown = { id: event_id, stream, revision, position: tokenOf(position), type, at, ...content, metadata: meta };
  return escapeControls(JSON.stringify(shown, null, isPretty ? INDENT : 0));
};

const matchesTenant = (event: Recorded, tenant: string | undefined): boolean =>
  !tenant || event.tenant === tenant || event.meta.tenant === tenant;

type Selection = {
  readonly stream: string | undefined;
  readonly start: Bound;
  readonly end: Bound;
  readonly matches: (event: Recorded) => boolean;
  readonly limit: number;
  readonly reverse: boolean;
  readonly follow: boolean;
  readonly pretty: boolean;
};

/** @throws a usage error */
const selectionOf = ({ stream, tenant, from, to, at, type, limit, reverse, follow, pretty }: ReplayOptions): Selection => {
  if (tenant !== undefined && !isId25(tenant)) throw usageError('--tenant must be a tenant id');
  if (limit !== undefined && !/^[1-9]\d{0,14}$/.test(limit)) throw usageError('--limit must be a number from 1 on');
  if (follow && (reverse || to !== undefined)) throw usageError('--follow cannot be combined with --reverse or --to');
  if (at !== undefined && (follow || to !== undefined)) throw usageError('--at cannot be combined with --to or --follow');
  const [start, end] = [boundOf('from', from), boundOf('at', at) ?? boundOf('to', to)];
  const matches = (event: Recorded): boolean =>
    !isBefore(event, start) && !isAfter(event, end) && matchesTenant(event, tenant) && (type === undefined || event.type === type);
  return { stream, start, end, matches, limit: limit === undefined ? Number.POSITIVE_INFINITY : Number(limit), reverse, follow, pretty };
};

/** Reads one stream, or the whole log. @throws Error with a one-line message for the operator if the stream has no events */
async function* eventsOf(log: Log, { stream, reverse }: Selection): AsyncGenerator<Recorded> {
  if (stream === undefined) return yield* log.readAll({ backwards: reverse });
  if (!(await log.last(stream))) throw new Error(`the stream ${JSON.stringify(stream)} does not exist`);
  if (!reverse) return yield* log.read(stream);
  yield* (await Array.fromAsync(log.read(stream))).reverse();
}

/** Returns whether this event and all later ones are outside of the selected range, so that reading can end. */
const isPast = (event: Recorded, { start, end, reverse }: Selection): boolean => {
  const bound = reverse ? start : end;
  return bound !== null && 'position' in bound && (reverse ? isBefore(event, bound) : isAfter(event, bound));
};

/** Returns a promise if the caller must wait until the output is consumed. */
const writeEvent = (event: Recorded, isPretty: boolean): void | Promise<void> => {
  if (!process.stdout.write(`${eventText(event, isPretty)}\n`))
    return new Promise((resolve) => process.stdout.once('drain', () => resolve()));
};

const printStored = async (log: Log, selection: Selection): Promise<void> => {
  let count = 0;
  for await (const event of eventsOf(log, selection)) {
    if (count === selection.limit || isPast(event, selection)) return;
    if (!selection.matches(event)) continue;
    await writeEvent(event, selection.pretty);
    if (++count === selection.limit) return;
  }
};

/** Prints the stored events, then every new one, up to the limit. @throws the error that ended the subscription */
const printAndFollow = async (log: Log, { stream, matches, limit, pretty }: Selection): Promise<void> => {
  let count = 0;
  const enough = Promise.withResolvers<null>();
  const subscription = log.follow({
    event: async (event) => {
      if (count >= limit || (stream !== undefined && event.stream !== stream) || !matches(event)) return;
      await writeEvent(event, pretty);
      if (++count === limit) enough.resolve(null);
    },
  });
  const error = await Promise.race([enough.promise, subscription.failure]);
  await subscription.stop();
  if (error) throw error;
};

/** Reads no faster than the output is consumed. Returns the exit code. */
export const replay = async (config: Config, options: ReplayOptions): Promise<number> => {
  const selection = selectionOf(options);
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    await (selection.follow ? printAndFollow(log, selection) : printStored(log, selection));
  } finally {
    await log.close();
  }
  return 0;
};
