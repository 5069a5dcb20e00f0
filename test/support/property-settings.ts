/**
 * Settings of all properties, besides the seed. A history or a text becomes as long as its property allows: the default of
 * fast-check is about five items, whatever `maxLength` says.
 */
export const PROPERTY_SETTINGS = { defaultSizeToMaxWhenMaxSpecified: true };
