import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { NewEvent } from '../eventstore/event-log.ts';

/** `revision` is the event's revision in its stream, from 0. */
export type ExportedEvent = { readonly stream: string; readonly revision: number; readonly event: NewEvent };

type EventText = Pick<ExportedEvent, 'stream' | 'revision'> & {
  readonly id: string;
  readonly type: string;
  readonly data: object | string;
  readonly metadata: NewEvent['meta'];
};

const EVENT_LINE = /^\{"line":\d+,"digest":"[\w-]{43}","event":/;

/** Data of type string are decoded from base64. */
const exportedEventOf = ({ stream, revision, id, type, data, metadata: meta }: EventText): ExportedEvent => ({
  stream,
  revision,
  event: { id, type, data: typeof data === 'string' ? Buffer.from(data, 'base64') : data, meta },
});

/** Yields the events of a verified export in log order. Only one of them is in memory at a time. */
export async function* eventsOfExport(file: string): AsyncGenerator<ExportedEvent> {
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY }))
    if (EVENT_LINE.test(line)) yield exportedEventOf((JSON.parse(line) as { event: EventText }).event);
}
