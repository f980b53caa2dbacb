/* The bundle is in the tree: so it is made to be read, and has ids that do not depend on the folder it is built in. */
module.exports = { optimization: { minimize: false, moduleIds: 'named', chunkIds: 'named' } };
