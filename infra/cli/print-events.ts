import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import { Instant } from '../../domain/fields.ts';
import { isId25 } from '../../domain/id.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { escapeControls } from '../logging/escape-controls.ts';
import { locateServices } from './locate-services.ts';

export type ReplayOptions = {
  readonly stream?: string | undefined;
  readonly tenant?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

type Bound = { readonly position: Position } | { readonly time: string } | null;

const boundOf = (name: string, text: string | undefined): Bound => {
  if (text === undefined) return null;
  const position = parseToken(text);
  if (position) return { position };
  if (Instant.safeParse(text).success) return { time: new Date(text).toISOString() };
  throw new Error(`--${name} must be a position such as 4711:4711 or an RFC 3339 time`);
};

const isBefore = (event: Recorded, bound: Bound): boolean => {
  if (!bound) return false;
  return 'position' in bound ? comparePositions(event.position, bound.position) < 0 : event.at < bound.time;
};

const isAfter = (event: Recorded, bound: Bound): boolean => {
  if (!bound) return false;
  return 'position' in bound ? comparePositions(event.position, bound.position) > 0 : event.at > bound.time;
};

/** An event as one line of JSON. Secrets stay encrypted. Binary data, such as a delivery's body, is base64. */
export const lineOf = ({ event_id, stream, revision, position, type, at, data, meta }: Recorded): string => {
  const content = data instanceof Uint8Array ? { data_base64: Buffer.from(data).toString('base64') } : { data };
  return escapeControls(
    JSON.stringify({ id: event_id, stream, revision, position: tokenOf(position), type, at, ...content, metadata: meta }),
  );
};

const matchesTenant = (event: Recorded, tenant: string | undefined): boolean =>
  !tenant || event.tenant === tenant || event.meta.tenant === tenant;

/** Yields the events of one stream, or of the whole log, from `from` to `to` (both inclusive), oldest first. */
async function* eventsBetween(log: Log, { stream, tenant, from, to }: ReplayOptions): AsyncGenerator<Recorded> {
  const [start, end] = [boundOf('from', from), boundOf('to', to)];
  for await (const event of stream ? log.read(stream) : log.readAll()) {
    if (isBefore(event, start)) continue;
    if (isAfter(event, end) && end && 'position' in end) return;
    if (!isAfter(event, end) && matchesTenant(event, tenant)) yield event;
  }
}

/** Prints events as JSON lines. It reads no faster than the output is consumed. @returns the exit code */
export const replay = async (config: Config, options: ReplayOptions): Promise<number> => {
  if (options.tenant !== undefined && !isId25(options.tenant)) throw new Error('--tenant must be a tenant id');
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    for await (const event of eventsBetween(log, options)) {
      if (!process.stdout.write(`${lineOf(event)}\n`)) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  } finally {
    await log.close();
  }
  return 0;
};
