/** A plaintext secret. `reveal` returns the text. Printing it in any other way shows only `[redacted]`. */
export type Secret = { readonly reveal: () => string };

const redacted = (): string => '[redacted]';

/**
 * Wraps a plaintext secret, so that it cannot appear in logs, templates, JSON, or when an object that contains it is
 * inspected.
 */
export const secret = (text: string): Secret =>
  Object.freeze({
    reveal: () => text,
    toString: redacted,
    toJSON: redacted,
    [Symbol.toPrimitive]: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  });
