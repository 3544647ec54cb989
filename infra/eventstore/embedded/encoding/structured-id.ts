import { bytesField, framedMessage, messageField, readFields, uintField, type Wide } from './protobuf.ts';

const structured = (text: string): Buffer => {
  const hex = text.replaceAll('-', '');
  const word = (at: number): Wide => BigInt(`0x${hex.slice(at, at + 16)}`);
  return messageField(1, uintField(1, word(0)), uintField(2, word(16)));
};

const withField = (body: Buffer, field: number, change: (value: Buffer) => Buffer): Buffer => {
  const parts: Buffer[] = [];
  readFields(body, (each, value) => {
    if (!Buffer.isBuffer(value)) parts.push(uintField(each, value));
    else parts.push(bytesField(each, each === field ? change(value) : value));
  });
  return Buffer.concat(parts);
};

const recordedWith = (recorded: Buffer): Buffer => withField(recorded, 1, (id) => structured(id.subarray(2).toString('latin1')));

/** A caller can request event ids as two numbers instead of text. Otherwise equals `frame`. */
export const withStructuredIds = (frame: Buffer): Buffer =>
  framedMessage(withField(frame.subarray(5), 1, (event) => withField(withField(event, 1, recordedWith), 2, recordedWith)));
