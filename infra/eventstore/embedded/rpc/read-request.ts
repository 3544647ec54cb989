import { bytesOf, type Fields, readFields, type Wide, wideOf } from '../encoding/protobuf.ts';
import { type StreamIdentifier, streamIdentifierOf } from './append-requests.ts';
import { type Filter, filterOf } from './filter.ts';

export type From<Position> = 'start' | 'end' | Position;
export type LogPosition = { commit: Wide; prepare: Wide };

export type ReadRequest = {
  source: { kind: 'stream'; named: StreamIdentifier; from: From<Wide> } | { kind: 'all'; from: From<LogPosition> };
  backwards: boolean;
  resolveLinks: boolean;
  /** Infinity for a subscription. */
  count: number;
  subscription: boolean;
  filter: Filter | undefined;
  structuredIds: boolean;
};

const streamSource = (message: Buffer): ReadRequest['source'] => {
  const fields = readFields(message);
  const from = fields.has(3) ? 'start' : fields.has(4) ? 'end' : wideOf(fields, 2);
  return { kind: 'stream', named: streamIdentifierOf(bytesOf(fields, 1) ?? Buffer.alloc(0)), from };
};

const allSource = (message: Buffer): ReadRequest['source'] => {
  const fields = readFields(message);
  if (fields.has(3)) return { kind: 'all', from: 'end' };
  const position = bytesOf(fields, 1);
  if (!position) return { kind: 'all', from: 'start' };
  const parts = readFields(position);
  return { kind: 'all', from: { commit: wideOf(parts, 1), prepare: wideOf(parts, 2) } };
};

const wantsStructured = (options: Fields): boolean => readFields(bytesOf(options, 9) ?? Buffer.alloc(0)).has(1);

/** @throws SyntaxError if the regular expression of the filter is invalid */
export const readRequestOf = (message: Buffer): ReadRequest => {
  const options = readFields(bytesOf(readFields(message), 1) ?? Buffer.alloc(0));
  const stream = bytesOf(options, 1);
  const filter = bytesOf(options, 7);
  const subscription = options.has(6);
  return {
    source: stream ? streamSource(stream) : allSource(bytesOf(options, 2) ?? Buffer.alloc(0)),
    backwards: wideOf(options, 3) === 1,
    resolveLinks: wideOf(options, 4) === 1,
    count: subscription ? Number.POSITIVE_INFINITY : Number(wideOf(options, 5)),
    subscription,
    filter: filter ? filterOf(filter) : undefined,
    structuredIds: wantsStructured(options),
  };
};
