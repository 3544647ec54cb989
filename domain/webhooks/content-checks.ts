import type { BodyContent } from './body-content.ts';
import type { GuardrailVerdict } from './guardrail.ts';

/**
 * A built-in check of the content of every delivery. It never blocks.
 * @returns the verdict; null if the check finds nothing
 */
export type ContentCheck = (content: BodyContent) => GuardrailVerdict | null;

/** The built-in checks of the content, in the order in which their verdicts are recorded. */
export const contentChecks: readonly ContentCheck[] = [];
