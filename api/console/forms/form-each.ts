import type { Answer } from '../../http/ask.ts';
import { icon } from '../parts/icon.ts';
import { type Child, tags } from '../parts/tags.ts';
import type { Form } from './form.ts';

const { div, p } = tags;

/** What a form sends: the body, and the Idempotency-Key. */
type Sent = { readonly body: unknown; readonly key: string };

/** Says above a refusal how many requests before it have succeeded; null if none. */
export const doneNote = (done = 0): Child =>
  done === 0
    ? null
    : div(
        { class: 'note', role: 'status', 'data-done': String(done) },
        icon('info'),
        p(null, `${done} of the chosen ones ${done === 1 ? 'is' : 'are'} done, and no longer in the form.`),
      );

/**
 * Sends a form once for each value of its field with several values; without such values, once. Ends at the first
 * refusal. Returns the last answer, the body with the values that are not done yet, and how many are done.
 */
export const sendEach = async <S extends Sent>(
  { layout }: Form,
  sent: S,
  send: (sent: S) => Promise<Answer<unknown>>,
): Promise<{ readonly answer: Answer<unknown>; readonly body: unknown; readonly done: number }> => {
  const body = sent.body as Readonly<Record<string, unknown>>;
  const name = Object.entries(layout?.fields ?? {}).find(([, look]) => look?.isSeveral)?.[0] ?? '';
  const values: readonly unknown[] = Array.isArray(body?.[name]) ? body[name] : [];
  const all = values.map((value) => ({ ...sent, key: `${sent.key}-${value}`, body: { ...body, [name]: value } }));
  if (all.length === 0) return { answer: await send(sent), body, done: 0 };
  for (let done = 0; ; done++) {
    const answer = await send(all[done]!);
    if (!answer.ok) return { answer, body: { ...body, [name]: values.slice(done) }, done };
    if (done === all.length - 1) return { answer, body, done: all.length };
  }
};
