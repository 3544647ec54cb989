import fc from 'fast-check';
import * as FileScan from '../../domain/files/file-scan.ts';
import * as Picture from '../../domain/files/picture.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

const file = (sha256: string) => ({
  upload_id: 'u1',
  filename: 'logo.png',
  content_type: 'image/png',
  size_bytes: 153,
  sha256,
  width: 40,
  height: 30,
});

const decisions: AreaCases['decisions'] = [
  repeated(FileScan, [], {
    'files/file-scan.ts record': fc.constant(
      FileScan.record({ ...file('a'), resource_type: 'file', verdict: 'clean', findings: [] } as FileScan.ScannedFile),
    ),
  }),
  repeated(Picture, [], {
    'files/picture.ts change': fc.constantFrom('a', 'b').map((sha256) => Picture.change('BrandLogoChanged', file(sha256), null)),
  }),
];

export const cases: AreaCases = { decisions };
