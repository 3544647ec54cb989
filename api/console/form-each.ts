import type { Answer } from '../http/ask.ts';
import type { Form } from './form.ts';

/** What a form sends: the body, and the Idempotency-Key. */
type Sent = { readonly body: unknown; readonly key: string };

type Refused = Answer<unknown> & { readonly ok: false };

/** Says in a refusal how many requests before it have succeeded. */
const afterOthers = (answer: Refused, done: number): Refused => {
  if (done === 0) return answer;
  const { problem } = answer;
  const detail = `${problem.detail ?? problem.title}. ${done} of the chosen ones are done, and are no longer in the form.`;
  return { ...answer, problem: { ...problem, detail } };
};

/**
 * Sends a form once for each value of the field that its layout names; without such values, once. Ends at the first
 * refusal. Returns the last answer, and the body with the values that are not done yet.
 */
export const sendEach = async <S extends Sent>(
  { layout }: Form,
  sent: S,
  send: (sent: S) => Promise<Answer<unknown>>,
): Promise<{ readonly answer: Answer<unknown>; readonly body: unknown }> => {
  const name = layout?.each;
  const body = sent.body as Readonly<Record<string, unknown>>;
  const values = name === undefined ? null : body[name];
  if (name === undefined || !Array.isArray(values)) return { answer: await send(sent), body };
  for (const [done, value] of values.entries()) {
    const answer = await send({ ...sent, key: `${sent.key}-${value}`, body: { ...body, [name]: value } });
    if (!answer.ok) return { answer: afterOthers(answer, done), body: { ...body, [name]: values.slice(done) } };
    if (done === values.length - 1) return { answer, body };
  }
  return { answer: await send(sent), body };
};
