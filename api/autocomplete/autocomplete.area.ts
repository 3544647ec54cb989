import type { Area } from '../area.ts';
import { autocompleteOperations } from './autocomplete.ts';

export const autocompleteArea = {
  title: 'Autocomplete',
  operations: () => autocompleteOperations,
  plainRoutes: [],
} satisfies Area;
