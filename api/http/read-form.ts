import { readBytes } from './json-body.ts';

/** The maximum size of a form that callers can send before they have signed in. */
export const MAX_SMALL_FORM_BYTES = 4_096;

/** Reads the body of a form as text. @throws Refusal too_large as soon as more than `limit` bytes arrive, malformed */
export const readFormText = async (request: Request, limit: number): Promise<string> =>
  new TextDecoder().decode(await readBytes(request, limit));

/** Reads the fields of a small form. @throws Refusal too_large, malformed */
export const readSmallForm = async (request: Request): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(new URLSearchParams(await readFormText(request, MAX_SMALL_FORM_BYTES)));
