export { counted, nounOf } from '../../domain/counted.ts';
