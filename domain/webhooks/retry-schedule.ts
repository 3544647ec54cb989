import { HOUR } from './conventions/delays.ts';
import type { RetrySchedule } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** Returns the seconds between the first and the last attempt that a provider makes on its own. */
export const lastAttemptSeconds = ({ delaysSeconds }: RetrySchedule): number => delaysSeconds.reduce((sum, seconds) => sum + seconds, 0);

/** How much later than scheduled an attempt may come, because the provider waits for answers, or is late. */
const MAX_DELAY_SECONDS = HOUR;

/** Returns how old a signed time may be if the provider sends the same bytes again, in seconds. */
export const sameBytesAge = (retries: RetrySchedule): number => lastAttemptSeconds(retries) + MAX_DELAY_SECONDS;

/** Returns whether a provider makes a further attempt on its own. One whose senders are not known is not known to do so. */
export const triesAgain = (provider: Provider): boolean => (PROVIDER_DEFINITIONS[provider].retries?.delaysSeconds.length ?? 0) > 0;
