import type { Area } from '../area.ts';
import { autocompleteOperations } from './autocomplete.ts';

export const autocompleteArea = {
  title: 'Autocomplete',
  description: 'Names that complete what a person types.',
  operations: () => autocompleteOperations,
  plainRoutes: [],
} satisfies Area;
