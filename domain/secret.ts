/** Only `reveal` returns the text; any other way to print the secret shows `[redacted]`. */
export type Secret = { readonly reveal: () => string };

const redacted = (): string => '[redacted]';

/** Cannot appear by mistake in logs, templates, JSON or inspected objects. */
export const secret = (text: string): Secret =>
  Object.freeze({
    reveal: () => text,
    toString: redacted,
    toJSON: redacted,
    [Symbol.toPrimitive]: redacted,
    [Symbol.for('nodejs.util.inspect.custom')]: redacted,
  });
