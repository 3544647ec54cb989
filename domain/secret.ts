/** A plaintext secret. It prints as `[redacted]` however it is printed; `reveal` is the only way to the text. */
export type Secret = { readonly reveal: () => string };

const redacted = (): string => '[redacted]';

/** Wraps a plaintext secret, so that no log line, template, JSON text or inspection of an object around it can show it. */
export const secret = (text: string): Secret =>
  Object.freeze({
    reveal: () => text,
    toString: redacted,
    toJSON: redacted,
    [Symbol.toPrimitive]: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  });
