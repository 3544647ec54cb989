export { keepsRhythm } from '../../domain/schedule/recurrence.ts';
