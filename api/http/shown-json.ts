/** The console shows JSON with these functions. */
export { isRawNumber, parseForDisplay } from '../../domain/bodies/json-values.ts';
