import { bytesOf, readFields, wideOf } from '../encoding/protobuf.ts';
import { nameAt, typeAt } from '../log/record.ts';

/** Selects events of $all. The reader gets a checkpoint after every `interval` examined events, selected or not. */
export type Filter = { passes: (bytes: Buffer, at: number) => boolean; interval: number };

const DEFAULT_WINDOW = 32;

const startsWith = (bytes: Buffer, prefix: Buffer): boolean =>
  bytes.length >= prefix.length && bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;

/** @throws SyntaxError if the regular expression is invalid */
export const filterOf = (message: Buffer): Filter => {
  const prefixes: Buffer[] = [];
  const options = readFields(message);
  const byName = bytesOf(options, 1);
  const expression = readFields(byName ?? bytesOf(options, 2) ?? Buffer.alloc(0), (field, value) => {
    if (field === 2 && Buffer.isBuffer(value)) prefixes.push(value);
  });
  const subject = byName ? nameAt : typeAt;
  const pattern = bytesOf(expression, 1)?.toString();
  const regex = pattern ? new RegExp(pattern) : undefined;
  const window = options.has(3) ? Number(wideOf(options, 3)) : DEFAULT_WINDOW;
  return {
    passes: (bytes, at) =>
      regex ? regex.test(subject(bytes, at).toString()) : prefixes.some((prefix) => startsWith(subject(bytes, at), prefix)),
    interval: Math.max(1, window * Math.max(1, Number(wideOf(options, 5)))),
  };
};
