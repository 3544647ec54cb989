/** A plaintext secret. Only `reveal` returns its text: printed in any other way, it is shown as `[redacted]`. */
export type Secret = { readonly reveal: () => string };

const redacted = (): string => '[redacted]';

/**
 * Wraps a plaintext secret, so that its text cannot appear by mistake in logs, templates, JSON or an inspected object.
 */
export const secret = (text: string): Secret =>
  Object.freeze({
    reveal: () => text,
    toString: redacted,
    toJSON: redacted,
    [Symbol.toPrimitive]: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  });
