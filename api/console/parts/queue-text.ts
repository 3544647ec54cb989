import { countText } from './count-text.ts';

/** The words for deliveries that the broker has handed out, because it does not say which of them a runner has now. */
const TAKEN = 'taken by a runner or tried again later';

/** Says how many deliveries of an agent wait, and how many the broker has handed out to a runner at least once. */
export const queueCounts = ({ waiting, running }: { readonly waiting: number; readonly running: number }): string =>
  `${countText(waiting)} waiting, ${countText(running)} ${TAKEN}`;
