/* The bundle is in the tree, so it is made to be read. */
module.exports = { optimization: { minimize: false } };
