import type { Area } from '../services-of-areas.ts';
import { autocompleteOperations } from './autocomplete.ts';

export const autocompleteArea = {
  title: 'Autocomplete',
  operations: () => autocompleteOperations,
  plainRoutes: [],
} satisfies Area;
