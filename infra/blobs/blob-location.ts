import { isAbsolute, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A bucket of an object store with the S3 API. `endpoint` is the URL of the bucket, without a trailing slash. */
export type Bucket = {
  readonly endpoint: string;
  readonly bucket: string;
  /** The prefix of the names of all objects: empty, or a text that ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
};

export type BlobLocation = { readonly kind: 'directory'; readonly path: string } | ({ readonly kind: 'bucket' } & Bucket);

/** The valid forms of BLOBS_URL, as the error message for an invalid value lists them. */
export const BLOBS_URL_FORMS =
  'must be s3://<key id>:<secret>@<bucket>[/<prefix>]?region=<region>, https://<key id>:<secret>@<host>/<bucket>[/<prefix>][?region=<region>] ' +
  '(with / + and % in the secret percent-encoded), or file:///<directory>';

export const blobDirectoryOf = (annalsData: string): string => join(annalsData, 'blobs');

export const defaultBlobsUrl = (annalsData: string): string => pathToFileURL(blobDirectoryOf(annalsData)).href;

const BUCKET = /^(?!\d+\.\d+\.\d+\.\d+$)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^(?:(?!\.{1,2}(?:\/|$))[\w.-]+\/)*$/;
const REGION = /^[a-z0-9-]{1,63}$/;
const MAX_PREFIX = 512;

const directoryOf = (url: URL): BlobLocation | null => {
  if (url.host !== '' || url.search !== '' || url.hash !== '') return null;
  const path = normalize(fileURLToPath(url));
  return isAbsolute(path) && path !== '/' ? { kind: 'directory', path } : null;
};

/** A bucket with dots in its name is part of the path: as a host name it would not match Amazon's certificate. */
const amazonEndpoint = (bucket: string, region: string): string =>
  bucket.includes('.') ? `https://s3.${region}.amazonaws.com/${bucket}` : `https://${bucket}.s3.${region}.amazonaws.com`;

const bucketOf = (url: URL): BlobLocation | null => {
  const isAmazon = url.protocol === 's3:';
  const [first = '', ...rest] = url.pathname.split('/').filter((part) => part !== '');
  const bucket = isAmazon ? url.host : first;
  const prefix = [...(isAmazon && first ? [first] : []), ...rest].map((part) => `${part}/`).join('');
  const region = url.searchParams.get('region') ?? (isAmazon ? '' : 'us-east-1');
  const hasOtherParts = url.hash !== '' || [...url.searchParams.keys()].some((name, index) => name !== 'region' || index > 0);
  const [accessKeyId, secretAccessKey] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  if (hasOtherParts || !BUCKET.test(bucket) || !PREFIX.test(prefix) || prefix.length > MAX_PREFIX || !REGION.test(region)) return null;
  if (!/^[\x21-\x7e]+$/.test(accessKeyId) || !/^[\x21-\x7e]+$/.test(secretAccessKey)) return null;
  const endpoint = isAmazon ? amazonEndpoint(bucket, region) : `${url.origin}/${bucket}`;
  return { kind: 'bucket', endpoint, bucket, prefix, region, accessKeyId, secretAccessKey };
};

/** Returns null if the text is malformed. */
export const parseBlobsUrl = (text: string): BlobLocation | null => {
  try {
    const url = new URL(text);
    if (url.protocol === 'file:') return directoryOf(url);
    return ['s3:', 'http:', 'https:'].includes(url.protocol) ? bucketOf(url) : null;
  } catch {
    return null;
  }
};
