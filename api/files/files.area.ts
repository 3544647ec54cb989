import type { Area } from '../services-of-areas.ts';
import { pictures } from './picture.ts';
import { fileScan } from './scan.ts';
import { storedFiles } from './stored-file.ts';

export const filesArea = {
  title: 'Files',
  operations: () => ({}),
  plainRoutes: [storedFiles, pictures, fileScan],
} satisfies Area;
