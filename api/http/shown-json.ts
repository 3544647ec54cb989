/** The console shows JSON with these functions. */
export { isRawNumber, parseForDisplay } from '../../domain/webhooks/json-values.ts';
