import { nextCursor } from '../../console/parts/pager.ts';
import type { Blackout } from '../../console/parts/schedule-calendar.ts';
import type { Visit } from '../../console/visit.ts';
import type { Answer } from '../../http/ask.ts';

/** The maximum number of blackouts on a page of the API. */
const MAX_LISTED = 200;

/** Returns the blackouts of all pages. A tenant has at most 500. */
export const allBlackouts = async ({ ask, rows, params }: Visit): Promise<Answer<readonly Blackout[]>> => {
  const wanted = { tenant_id: params.tenant_id!, limit: MAX_LISTED };
  let answer: Answer<readonly Blackout[]> = await ask(rows.listCronBlackouts, wanted);
  for (let cursor = nextCursor(answer); answer.ok && cursor !== null; cursor = nextCursor(answer)) {
    const next = await ask(rows.listCronBlackouts, { ...wanted, cursor });
    answer = next.ok ? { ...next, value: [...answer.value, ...next.value] } : next;
  }
  return answer;
};
