/** A plaintext secret. `reveal` returns the text; every way of printing shows `[redacted]`. */
export type Secret = { readonly reveal: () => string };

const redacted = (): string => '[redacted]';

/** Wraps a plaintext secret so that log lines, templates, JSON and inspection of surrounding objects cannot show it. */
export const secret = (text: string): Secret =>
  Object.freeze({
    reveal: () => text,
    toString: redacted,
    toJSON: redacted,
    [Symbol.toPrimitive]: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  });
